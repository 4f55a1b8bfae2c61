"""What a user would try in five minutes: the bar that every gated model is printed beside."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline


def bag_of_words(longest: int, penalty: float = 10.0) -> Pipeline:
    """Logistic regression with C = `penalty` over tf-idf of runs of up to `longest` words: `fit(texts, labels)`."""
    words = TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=True, min_df=2)
    return make_pipeline(words, LogisticRegression(C=penalty, max_iter=1000))


def bag_of_word_pairs() -> Pipeline:
    """The strongest of them at its usual penalty."""
    return bag_of_words(2)
